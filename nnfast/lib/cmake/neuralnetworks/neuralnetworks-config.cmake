# find_package(neuralnetworks): the target neuralnetworks::neuralnetworks, Android's Neural Networks API.
get_filename_component(_neuralnetworks_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET neuralnetworks::neuralnetworks)
  add_library(neuralnetworks::neuralnetworks SHARED IMPORTED)
  set_target_properties(neuralnetworks::neuralnetworks PROPERTIES
    IMPORTED_LOCATION "${_neuralnetworks_prefix}/lib/libneuralnetworks.so"
    IMPORTED_SONAME libneuralnetworks.so
    INTERFACE_INCLUDE_DIRECTORIES "${_neuralnetworks_prefix}/include")
endif()
if(NOT EXISTS "${_neuralnetworks_prefix}/lib/libneuralnetworks.so")
  set(neuralnetworks_FOUND FALSE)
  set(neuralnetworks_NOT_FOUND_MESSAGE "libneuralnetworks.so is not built: python setup.py build_ext --inplace")
endif()
unset(_neuralnetworks_prefix)
